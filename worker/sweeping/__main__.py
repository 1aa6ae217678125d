"""The sweeper: its command line.

It is a module of this name because multiprocessing would import any other main program again in each child.
"""

from worker.sweeper import main

if __name__ == "__main__":
    main()
