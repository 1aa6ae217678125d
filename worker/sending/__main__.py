"""The command line of the sender."""

from worker.sender import main

if __name__ == "__main__":
    main()
