"""SageMaker's operations: one class for each concept, one method for each operation.

A method is named after its operation, is given the caller and the request in botocore's shape, and returns the
response in botocore's shape, with instants in epoch seconds.
"""
