"""The client of a service: studies on another machine, used as if they were here.

===================  ==============================================================================================
file                 what it holds
===================  ==============================================================================================
``client.py``        `Client`: a service, its studies, and how to create one
``remote_study.py``  `RemoteStudy`: a study behind a service, with the methods of `covbandit.Study`
``connection.py``    requests, sent again where that is safe; responses, which become values or exceptions of ours
===================  ==============================================================================================
"""

from covbandit.service.client.client import Client
from covbandit.service.client.remote_study import RemoteStudy

__all__ = ["Client", "RemoteStudy"]
