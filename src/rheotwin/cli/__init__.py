"""The verbs of the command line: each module has NAME, HELP, add_arguments(parser) and execute(args) -> exit code."""
