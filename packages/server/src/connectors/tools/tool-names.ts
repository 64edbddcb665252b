/** Names of connector tools for models: short, in plain characters, unique. */
import { createHash } from 'node:crypto'

/** The runtime prepends `svc_`, and models allow names of 64 characters. */
const charsMax = 56

export interface Named<T> {
  offeredAs: string
  slug: string
  tool: T
}

/** In the order of the connectors. `taken` names are reserved. */
export function nameTools<T extends { name: string }>(
  connectors: readonly { slug: string; tools: readonly T[] }[],
  taken: readonly string[],
): Named<T>[] {
  const used = new Set(taken)
  return connectors.flatMap(({ slug, tools }) =>
    tools.map((tool) => {
      const wanted = `${slug}_${tool.name}`.replaceAll(/[^A-Za-z0-9_-]/g, '_')
      const isPlain = wanted.length <= charsMax && !used.has(wanted)
      const offeredAs = isPlain ? wanted : `${wanted.slice(0, charsMax - 9)}_${digest(slug, tool.name)}`
      used.add(offeredAs)
      return { offeredAs, slug, tool }
    }),
  )
}

/** Hashes both names, so that a tool's name does not depend on other tools. */
function digest(slug: string, name: string): string {
  return createHash('sha256').update(`${slug}\0${name}`).digest('hex').slice(0, 8)
}
