"""What waiting for jobs costs, and how soon a job's end is noticed: our trigger beside the Amazon provider's.

    make bench [JOBS="100 300 1000"] [SECONDS=150] [QUICK=1]

Each measurement has an endpoint in a process of its own, which holds SageMaker's limits, and a process in whose event
loop the triggers wait, as in a triggerer. One follows the other, so that none takes another's processor.
"""
