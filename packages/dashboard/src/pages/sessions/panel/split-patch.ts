/** The patch of each file by its path, which is the new one unless the file was deleted. */
export function splitPatch(patch: string): Map<string, string> {
  const found = new Map<string, string>()
  const start = 'diff --git '
  // Lines of content begin with a sign, so a line that begins like this is a header.
  let from = patch.startsWith(start) ? 0 : patch.indexOf(`\n${start}`) + 1
  while (from < patch.length && patch.startsWith(start, from)) {
    const next = patch.indexOf(`\n${start}`, from)
    const to = next === -1 ? patch.length : next + 1
    const one = patch.slice(from, to)
    const path = pathOf(one)
    if (path !== null) found.set(path, one)
    from = to
  }
  return found
}

function pathOf(one: string): string | null {
  const hunks = one.indexOf('\n@@ ')
  const header = hunks === -1 ? one : one.slice(0, hunks + 1)
  const before = nameAt(header, '--- ', 'a/')
  const after = nameAt(header, '+++ ', 'b/')
  if (after ?? before) return after ?? before
  // Without lines there is only the first one, in which both names are equal unless the file was renamed.
  const renamed = /^rename to (.*)$/m.exec(header)?.[1]
  const both = header.slice('diff --git a/'.length, header.indexOf('\n'))
  return renamed ?? (header.startsWith('diff --git a/') ? both.slice(0, (both.length - ' b/'.length) / 2) : null)
}

/** Git quotes names with control characters as C does, which only matters for rare names: those stay quoted. */
function nameAt(header: string, sign: string, prefix: string): string | null {
  const line = header.split('\n').find((each) => each.startsWith(sign))
  if (line === undefined || line === `${sign}/dev/null`) return null
  const name = line.slice(sign.length).replace(/\t$/, '')
  return name.startsWith(prefix) ? name.slice(prefix.length) : name
}
