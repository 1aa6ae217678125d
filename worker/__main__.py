"""The command line of Celery, for workers.

It has to be a `__main__` module: multiprocessing would import any other main program again in each child.
"""

from celery.__main__ import main

if __name__ == "__main__":
    main()
