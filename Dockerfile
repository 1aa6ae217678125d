# One image for the web server, workers, the sweeper and commands; compose says which it is.

FROM python:3.11.14-slim-bookworm AS libraries
COPY requirements.lock /
RUN python -m venv --without-pip /opt/heldout/.venv \
    && pip --python /opt/heldout/.venv/bin/python install --no-cache-dir --require-hashes -r /requirements.lock

FROM python:3.11.14-slim-bookworm
WORKDIR /opt/heldout
COPY --from=libraries /opt/heldout/.venv .venv
COPY alembic.ini ./
COPY SECURITY.md ./
COPY app app
COPY docs docs
COPY migrations migrations
COPY sample sample
COPY scoring scoring
COPY static static
COPY templates templates
COPY worker worker
COPY bin/heldout-server .venv/bin/
# compiled here, because nothing can be written there later; volumes are made with the owner that these folders have
RUN printf '%s\n' /opt/heldout /opt/heldout/scoring > .venv/lib/python3.11/site-packages/heldout.pth \
    && .venv/bin/python -m compileall -q app migrations sample scoring worker \
    && useradd --uid 10001 --no-create-home --home-dir /data heldout \
    && useradd --uid 10002 --no-create-home --home-dir /data heldout-worker \
    && install -d -m 755 /data \
    && install -d -m 700 -o heldout -g heldout /data/mail \
    && install -d -m 700 -o heldout-worker -g heldout-worker /truth
ENV PATH=/opt/heldout/.venv/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONUNBUFFERED=1 \
    HELDOUT_DATA=/data \
    HELDOUT_HOST=0.0.0.0
USER 10001:10001
EXPOSE 8000
ENTRYPOINT ["heldout-server"]
CMD ["serve"]
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD ["heldout-server", "alive", "web"]
