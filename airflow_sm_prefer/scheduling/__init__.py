"""The queue policies of AWS Batch for service jobs, as pure functions over a snapshot.

A caller says what waits, what runs and how much there is (`snapshot.Snapshot`), and asks a policy what to do now
(`snapshot.Policy.decide`). The policy starts nothing and remembers nothing: the same snapshot gives the same decision.

    snapshot.py          jobs, what they hold, the decision: the words that all policies share
    fifo.py              `Fifo`: in order of arrival
    fair_share.py        `FairShare`: by what each share has used, decayed and weighted
    usage.py             what each share has used, carried from one decision to the next
    quota_management.py  `QuotaManagement`: each share its own limits; lends, borrows, reclaims
    quota_shares.py      a share's limits, and what it does with what is idle
    ledger.py            who holds, lends and borrows what
    preemption.py        whom to preempt
    environment.py       several queues on one service environment
    counts.py            room where all instance types count alike
"""
