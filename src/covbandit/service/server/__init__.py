"""The server: an application that serves the studies of a store, and the process that runs it.

======================  =============================================================================================
file                    what it holds
======================  =============================================================================================
``app.py``              the application: all other files, put together
``routes.py``           what the service can do: one entry per route, how it is read, and the function that does it
``request_models.py``   what requests say, checked strictly
``response_models.py``  what responses say, for the documentation: the studies themselves write them
``requests.py``         reading of requests: strict JSON of bounded size, query strings
``responses.py``        writing of responses: strict JSON, and the one shape of every error
``errors.py``           errors that only the server knows, and the response status of every class of errors
``middleware.py``       what every request passes: host names, tokens, limits, security headers, log and metrics
``auth.py``             which tokens are valid now, and what their holders may do
``rate_limit.py``       how many requests a caller may send
``connections.py``      what a connection may cost before there is a request: bytes, seconds, how many there may be
``runtime.py``          what a running service holds: the store, studies in memory, threads
``shared_work.py``      questions to the store for whose answer many requests wait together
``metrics.py``          what Prometheus sees
``openapi.py``          the OpenAPI description
``static_files.py``     the files of the dashboard
``process.py``          the process: sockets, signals, graceful stop
======================  =============================================================================================
"""
