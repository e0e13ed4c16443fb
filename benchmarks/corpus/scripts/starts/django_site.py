"""A Django project in one file: settings, a view, and its `manage.py`."""

import sys

from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import HttpResponse
from django.urls import path

settings.configure(ROOT_URLCONF=__name__, SECRET_KEY="of an example", ALLOWED_HOSTS=["127.0.0.1"])


def index(request):
    return HttpResponse("Hello, world.")


urlpatterns = [path("", index)]

if __name__ == "__main__":
    execute_from_command_line(sys.argv)
