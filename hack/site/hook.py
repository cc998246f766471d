"""What mkdocs and GitHub do differently with the same files.

The hooks warn of links and headings that lead nowhere; mkdocs.yml is strict, so a warning fails the build.
"""

import logging
import os
import re
from html import unescape
from urllib.parse import unquote

from markdown.blockprocessors import build_block_parser
from markdown.extensions import Extension

log = logging.getLogger("mkdocs.hooks.site")

LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")
# The end of what is indented below an item of a list, and the next item.
NEXT_ITEM = re.compile(r"^(  +\S.*\n)(?=(?:\*|\d+\.) )", re.MULTILINE)
FENCE = re.compile(r"^[ ]*```.*?^[ ]*```[ ]*$", re.MULTILINE | re.DOTALL)

# What the pages that were built have as anchors, and what they link to.
anchors, links = {}, []


class Indent(Extension):
    """A list in a list is indented by two blanks, as GitHub has it, and not by four."""

    def extendMarkdown(self, md):
        md.tab_length = 2
        md.parser = build_block_parser(md)


def slug(heading, separator):
    """The anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", unescape(heading).strip().lower()).replace(" ", separator)


def on_config(config):
    config["markdown_extensions"].insert(0, Indent())
    config["mdx_configs"]["toc"]["slugify"] = slug
    config["nav"] = navigation(config["docs_dir"])
    return config


def navigation(docs):
    """The chapters of docs/README.md, each with the pages that it names."""
    nav = [{"Overview": "README.md"}]
    with open(os.path.join(docs, "README.md"), encoding="utf-8") as index:
        for row in index:
            if row.startswith("## "):
                nav.append({row[3:].strip(): []})
            elif found := re.match(r"\* \[(.*?)\]\(([^.)][^)]*)\)", row):
                title, page = found.groups()
                chapter = next(iter(nav[-1].values()))
                chapter.append({title: [page, *others(docs, page)] if page.endswith("/README.md") else page})
    return nav


def others(docs, index):
    """The pages beside the index of a folder."""
    folder = os.path.dirname(index)
    return [f"{folder}/{name}" for name in sorted(os.listdir(os.path.join(docs, folder))) if name.endswith(".md") and name != "README.md"]


def on_page_markdown(markdown, page, config, files):
    """Links to files outside of docs/ lead to the repository, and lists go on after what is indented."""
    root = os.path.dirname(config["config_file_path"])

    def outside(match):
        target, anchor = match.group(1), match.group(2) or ""
        path = os.path.normpath(os.path.join(config["docs_dir"], os.path.dirname(page.file.src_path), target))
        if "://" in target or path.startswith(config["docs_dir"] + os.sep):
            return match.group(0)
        if not os.path.exists(path):
            log.warning("%s links to %s, which does not exist", page.file.src_path, target)
        kind = "tree" if os.path.isdir(path) else "blob"
        return f"]({config['repo_url'].rstrip('/')}/{kind}/main/{os.path.relpath(path, root)}{anchor})"

    def bridged(prose):
        return NEXT_ITEM.sub(r"\1\n", LINK.sub(outside, prose))

    text, end = "", 0
    for fence in FENCE.finditer(markdown):
        text, end = text + bridged(markdown[end : fence.start()]) + fence.group(0), fence.end()
    return text + bridged(markdown[end:])


def on_page_content(html, page, config, files):
    anchors[page.file.url] = set(re.findall(r'\bid="([^"]+)"', html))
    for target in re.findall(r'\b(?:href|src)="([^":]*)"', html):
        links.append((page.file, unquote(unescape(target))))
    return html


def on_post_build(config):
    """mkdocs itself does not look at anchors."""
    for file, target in links:
        path, _, anchor = target.partition("#")
        url = os.path.normpath(os.path.join(os.path.dirname(file.url), path)) if path else file.url
        if not os.path.exists(os.path.join(config["site_dir"], url)):
            log.warning("%s links to %s, which is not in the site", file.src_path, target)
        elif anchor and anchor not in anchors.get(url, ()):
            log.warning("%s links to %s, and there is no such heading", file.src_path, target)
