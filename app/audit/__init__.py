"""The record of what people with power over others' data did."""
