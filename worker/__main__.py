"""A worker: Celery's command line.

It is a module of this name because multiprocessing would import any other main program again in each child.
"""

from celery.__main__ import main

if __name__ == "__main__":
    main()
