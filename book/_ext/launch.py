"""Buttons that open a lecture or a lab on Colab and Binder.

They lead to the branch ``notebooks`` of the repository that publishes the book; ``book/notebooks.py`` puts
every page there as a notebook. A build on GitHub's machines knows its repository, so a fork's book opens the
fork's notebooks. A build elsewhere has only the button to download. (The theme's own launch buttons name the
text source, and stand on every page that is run.)
"""

import os

BRANCH = "notebooks"
LAUNCHED = ("lectures/", "labs/", "book/published_weights")
SERVICES = {  # name → icon of the theme, address
    "Colab": (
        "_static/images/logo_colab.png",
        "https://colab.research.google.com/github/{repository}/blob/{branch}/{page}.ipynb",
    ),
    "Binder": (
        "_static/images/logo_binder.svg",
        "https://mybinder.org/v2/gh/{repository}/{branch}?urlpath=lab/tree/{page}.ipynb",
    ),
}


def add_buttons(app, pagename, templatename, context, doctree):
    repository = os.environ.get("GITHUB_REPOSITORY")
    if not repository or not pagename.startswith(LAUNCHED):
        return
    buttons = [
        {
            "type": "link",
            "text": service,
            "tooltip": f"Launch on {service}",
            "icon": icon,
            "url": address.format(repository=repository, branch=BRANCH, page=pagename),
        }
        for service, (icon, address) in SERVICES.items()
    ]
    group = {
        "type": "group",
        "tooltip": "Launch interactive content",
        "icon": "fas fa-rocket",
        "label": "launch-buttons",
        "buttons": buttons,
    }
    context["header_buttons"].insert(0, group)


def setup(app):
    app.connect("html-page-context", add_buttons, priority=502)  # the theme makes the list before
    return {"parallel_read_safe": True, "parallel_write_safe": True}
