"""Pseudo-random requests generated from the OpenAPI document."""

import re
from collections.abc import Mapping
from typing import Any, cast

import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis.core.failures import FailureGroup
from schemathesis.python import asgi
from schemathesis.specs.openapi import checks

from tests.security.undoing import UndonePlatform

CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]


def faults(
    app: FastAPI,
    platform: UndonePlatform,
    headers: Mapping[str, str],
    known: Mapping[str, str],
    examples: int,
) -> dict[str, str]:
    """Invalid responses, by call: server errors, and responses that differ from the document.

    Each call is tried with `examples` requests, half of them for existing objects, named by the `known` path parameters.
    """
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app)
    found = {}
    with asgi.get_client(cast("Any", app)) as client:
        for operation in (cast("Any", each).ok() for each in schema.get_all_operations()):
            there = {name: value for name, value in known.items() if f"{{{name}}}" in operation.path}
            cases = st.one_of(operation.as_strategy(), operation.as_strategy(path_parameters=there))

            @seed(0)
            @settings(
                max_examples=examples,
                database=None,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=cases)
            def ask(case: Any) -> None:
                with platform.undone():
                    response = case.call(session=client, headers=dict(headers))
                case.validate_response(response, checks=CHECKS)

            try:
                ask()
            except (Exception, FailureGroup) as error:  # noqa: BLE001 - whatever it is, the next call is tried as well
                found[f"{operation.method.upper()} {operation.path}"] = re.sub(r"\s+", " ", str(error))[:600]
    return found
