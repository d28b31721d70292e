"""One module per part of the API, each with a `router`: read the request, make one call, answer.

A router is an ``APIRouter(route_class=JsonRoute)``, so that bodies are read strictly: `rubrica.server.request_bodies`.
"""
