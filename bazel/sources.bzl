"""The source files of this repository that a target is built from, as a text file of paths from the root."""

_Sources = provider("Source files of a target and of what it depends on.", fields = ["files"])

def _aspect_impl(_target, ctx):
    rule = ctx.rule
    direct = [f for f in getattr(rule.files, "srcs", []) if f.is_source and not f.owner.workspace_name]
    depends_on = getattr(rule.attr, "deps", []) + getattr(rule.attr, "data", [])
    return [_Sources(files = depset(direct, transitive = [d[_Sources].files for d in depends_on if _Sources in d]))]

_aspect = aspect(implementation = _aspect_impl, attr_aspects = ["data", "deps"])

def _source_list_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name + ".txt")
    paths = [f.short_path for f in ctx.attr.target[_Sources].files.to_list()]
    chosen = [p for p in paths if p.startswith(ctx.attr.folder) and p.endswith(ctx.attr.suffix)]
    ctx.actions.write(out, "".join([p + "\n" for p in sorted(chosen)]))
    return DefaultInfo(files = depset([out]))

source_list = rule(
    _source_list_impl,
    attrs = {
        "folder": attr.string(mandatory = True),
        "suffix": attr.string(mandatory = True),
        "target": attr.label(aspects = [_aspect], mandatory = True),
    },
)
