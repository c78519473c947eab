"""Everything this package raises, as one tree.

::

    SmPreferError
    ├── InvalidInput               what was written can't work; nothing was sent (also a ValueError)
    │   ├── InvalidPreference      a preference list, or an entry of one
    │   ├── InvalidRequest         the job request around the list
    │   ├── InvalidSetting         an argument or a setting of this package
    │   ├── InvalidQueues          a file of queues
    │   └── InvalidScenario        a sandbox scenario file
    ├── StateUnreadable            a stored state that this version can't go on with
    ├── TaskStatesUnavailable      Airflow can't be asked about its tasks, so that nothing is done on a guess
    ├── JobExists                  a job of that name is there and isn't this task's
    └── JobFailed                  a job, or the whole list, did not come to a good end
        ├── CapacityTimeout        nothing on the list had capacity in time
        ├── QuotaExceeded          the account's quota was used up for as long as the job could wait
        │   └── QuotaTooSmall      the quota is smaller than the request, or the Region lacks the type
        ├── QueueUnfit             no queue on the list can run the job as it is set up
        ├── RequestRejected        AWS refused the request; trying again changes nothing
        ├── UserCodeError          the script or its data failed
        ├── UnfitInstanceType      the job can't run on the type that was selected
        ├── InfrastructureFailure  AWS failed the job, interrupted it or ended its reservation
        ├── JobStopped             somebody stopped it
        ├── LimitReached           it ran into a limit of its own, such as MaxRuntimeInSeconds
        ├── JobLost                it was there and is gone
        ├── CredentialsUnavailable AWS could not be asked for too long
        └── UnknownFailure         a text that this version has never seen, shown word for word
"""

from __future__ import annotations


class SmPreferError(Exception):
    """The root of everything this package raises."""


class InvalidInput(SmPreferError, ValueError):
    """What was written can't work, and nothing was sent to AWS.

    The message says what is wrong, where, and what to do, in five lines at most.
    """


class InvalidPreference(InvalidInput):
    """A preference list, or one entry of it, can't work."""


class InvalidRequest(InvalidInput):
    """The job request around the list can't work."""


class InvalidSetting(InvalidInput):
    """An argument of an operator or a setting of this package can't work."""


class InvalidQueues(InvalidInput):
    """A file of queues has a mistake, with its line, or asks for what AWS Batch never changes."""


class InvalidScenario(InvalidInput):
    """A sandbox scenario file has a mistake; the message names the line."""


class StateUnreadable(SmPreferError):
    """A stored state is damaged, or was written by a later version than this one."""


class TaskStatesUnavailable(SmPreferError):
    """Airflow can't be asked about its tasks; nothing is done on a guess."""


class JobExists(SmPreferError):
    """A job of that name exists and does not belong to this task."""


class JobFailed(SmPreferError):
    """A job, or the whole preference list, did not come to a good end."""


class CapacityTimeout(JobFailed):
    """Nothing on the list had capacity before the pending budget ended."""


class QuotaExceeded(JobFailed):
    """The account's service quota didn't allow the job, be it that it was used up or that it is too small."""


class QuotaTooSmall(QuotaExceeded):
    """No wait helps: the quota is smaller than the request, or the Region doesn't have the instance type."""


class QueueUnfit(JobFailed):
    """No job queue on the list can run the job as it is set up; nothing else was left."""


class RequestRejected(JobFailed):
    """AWS refused the request; the same request will be refused again."""


class UserCodeError(JobFailed):
    """The training or processing script, or its data, failed."""


class UnfitInstanceType(JobFailed):
    """The job can't run on the instance type that was selected for it."""


class InfrastructureFailure(JobFailed):
    """AWS failed the job, interrupted it, or its reservation ended."""


class JobStopped(JobFailed):
    """Somebody stopped the job."""


class LimitReached(JobFailed):
    """The job ran into a limit of its own, such as MaxRuntimeInSeconds."""


class JobLost(JobFailed):
    """The job was there, and now AWS doesn't know it."""


class CredentialsUnavailable(JobFailed):
    """AWS could not be asked about the job for too long."""


class UnknownFailure(JobFailed):
    """The job failed with a text that this version doesn't know; the message has it word for word."""
