"""The command line of the sweeper.

It has to be a `__main__` module: multiprocessing would import any other main program again in each child.
"""

from worker.sweeper import main

if __name__ == "__main__":
    main()
