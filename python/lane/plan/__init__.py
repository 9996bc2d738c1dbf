"""Plan: a schedule's arrays, matrices and launches as plain numbers for the C++ planners, and their answers joined."""
