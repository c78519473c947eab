"""The queue policies of AWS Batch for service jobs, as pure functions over a snapshot.

A caller says what waits, what runs and how much there is (`snapshot.Snapshot`), and asks a policy what to do now
(`snapshot.Policy.decide`). The policy starts nothing and remembers nothing: the same snapshot gives the same decision.

    snapshot.py      jobs, what they hold, the decision: the words that all policies share
    fifo.py          `Fifo`: in order of arrival
    fair_share.py    `FairShare`: by what each share has used, decayed and weighted; `usage.py` is what it has used
    quota_shares.py  `QuotaShares`: each share its own limits; lends, borrows, reclaims; `preemption.py` picks the victims
    environment.py   several queues on one service environment
"""
