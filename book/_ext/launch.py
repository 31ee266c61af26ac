"""Buttons that open a lecture or a lab on Colab and Binder.

They lead to the branch ``notebooks`` of the repository that publishes the book; ``book/notebooks.py`` puts
every page there as a notebook. A build on GitHub's machines knows its repository, so a fork's book opens the
fork's notebooks. A build elsewhere has only the button to download.
"""

import os

BRANCH = "notebooks"
SERVICES = {
    "colab_url": "https://colab.research.google.com",
    "binderhub_url": "https://mybinder.org",
    "notebook_interface": "jupyterlab",
}
LAUNCHED = ("lectures/", "labs/")


def configure(app, config):
    repository = os.environ.get("GITHUB_REPOSITORY")
    if repository:
        server = os.environ.get("GITHUB_SERVER_URL", "https://github.com")
        config.html_theme_options |= {
            "repository_url": f"{server}/{repository}",
            "repository_branch": BRANCH,
            "launch_buttons": SERVICES,
        }


def point_to_notebooks(app, pagename, templatename, context, doctree):
    """The theme's links name the text source, and stand on every page that is run."""
    for group in list(context.get("header_buttons", ())):
        if group.get("label") != "launch-buttons":
            continue
        if not pagename.startswith(LAUNCHED):
            context["header_buttons"].remove(group)
        for button in group["buttons"]:
            button["url"] = button["url"].removesuffix(".md").removesuffix(".ipynb") + ".ipynb"


def setup(app):
    app.connect("config-inited", configure)
    app.connect("html-page-context", point_to_notebooks, priority=900)  # the theme adds them at 501
    return {"parallel_read_safe": True, "parallel_write_safe": True}
