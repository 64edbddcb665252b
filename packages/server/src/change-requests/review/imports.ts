/** Finds the imports of a file among the other files of a change by simple patterns. It reads no configuration and no packages. */

/** A longer file is searched up to here only; imports are at its beginning. */
const searchedMax = 200_000

const script = /\.(?:[cm]?[jt]sx?|vue|svelte)$/
const scriptEnds = [
  '',
  '.ts',
  '.tsx',
  '.mts',
  '.cts',
  '.js',
  '.jsx',
  '.mjs',
  '.cjs',
  '.json',
  '.vue',
  '.svelte',
  '.css',
]
const scriptImport = /(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)(["'])((?:(?!\1)[^\\\n]){1,300})\1/g
const pythonImport =
  /^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+\(?([\w \t,.\n*]{1,2000})|import[ \t]+([\w., \t]{1,500}))/gm
const goImport = /^[ \t]*(?:import[ \t]+)?(?:[\w.]+[ \t]+)?"([^"\n]{1,300})"[ \t]*(?:\/\/.*)?$/gm
const rustUse = /\b(?:use[ \t]+((?:crate|super|self)::[\w:]{1,300})|mod[ \t]+(\w{1,100})[ \t]*;)/g
const javaImport = /^[ \t]*import[ \t]+(?:static[ \t]+)?([\w.]{1,300})/gm
const include = /^[ \t]*#[ \t]*include[ \t]+["<]([^">\n]{1,300})[">]/gm

/** The files of `known` that this file imports. */
export function importsOf(path: string, text: string, known: KnownFiles): Set<string> {
  const found = new Set<string>()
  for (const names of importedNames(path, text.slice(0, searchedMax)))
    for (const name of names) {
      const files = known.find(name)
      for (const file of files) if (file !== path) found.add(file)
      // The first name that fits is the file.
      if (files.length > 0) break
    }
  return found
}

/** A path, a path after any folders, or all files of a folder. */
type Name = { path: string } | { end: string } | { folder: string }

function importedNames(path: string, text: string): Name[][] {
  if (script.test(path)) return all(text, scriptImport, ([, , name = '']) => scriptNames(path, name))
  if (path.endsWith('.py'))
    return all(text, pythonImport, (match) => pythonNames(path, match))
      .flat()
      .map((each) => [each])
  if (path.endsWith('.go')) return all(text, goImport, ([, name = '']) => folders(name))
  if (path.endsWith('.rs')) return all(text, rustUse, ([, used, mod]) => rustNames(path, used, mod))
  if (/\.(?:java|kts?)$/.test(path)) return all(text, javaImport, ([, name = '']) => javaNames(name))
  if (/\.(?:c|h|cc|hh|cpp|hpp|cxx|hxx|m|mm)$/.test(path))
    return all(text, include, ([, name = '']) => [{ path: join(folderOf(path), name) }, { end: name }])
  return []
}

/** A file with ten thousand imports is data. */
const importsMax = 2_000

function all<T>(text: string, pattern: RegExp, of: (match: RegExpMatchArray) => T): T[] {
  return text.matchAll(pattern).take(importsMax).map(of).toArray()
}

function scriptNames(path: string, name: string): Name[] {
  const bare = name.replace(/[?#].*$/, '')
  const of = (base: string) => {
    // TypeScript imports its files by the name that they get.
    const stem = base.replace(/\.[cm]?jsx?$/, '')
    const all = [...scriptEnds.map((end) => base + end), ...(stem === base ? [] : scriptEnds.map((end) => stem + end))]
    return [...all, ...scriptEnds.slice(1, 9).map((end) => `${base}/index${end}`)]
  }
  if (/^\.\.?(?:\/|$)/.test(bare)) return of(join(folderOf(path), bare)).map((path) => ({ path }))
  // An alias of the source folder, such as `@/ui/form`. The name of a package has no folder below it in the change.
  const alias = /^(?:[@~#]\/?|src\/)([\w.-]+\/[\w./-]+)$/.exec(bare)?.[1]
  return alias === undefined ? [] : of(alias).map((end) => ({ end }))
}

function pythonNames(path: string, [, from, names, plain]: RegExpMatchArray): Name[] {
  if (plain !== undefined)
    return plain.split(',').flatMap((each) => pythonModule(each.trim().split(/\s/)[0]!.replaceAll('.', '/'), null))
  const dots = /^\.*/.exec(from ?? '')![0].length
  const module = (from ?? '').slice(dots).replaceAll('.', '/')
  const folder = dots === 0 ? null : join(folderOf(path), '../'.repeat(dots - 1))
  const imported = (names ?? '').split(',').map((each) => each.trim().split(/\s/)[0]!)
  const inside = imported
    .filter(Boolean)
    .flatMap((each) => pythonModule(module === '' ? each : `${module}/${each}`, folder))
  return [...(module === '' ? [] : pythonModule(module, folder)), ...inside]
}

function pythonModule(module: string, folder: string | null): Name[] {
  return [`${module}.py`, `${module}/__init__.py`].map((name) =>
    folder === null ? { end: name } : { path: join(folder, name) },
  )
}

/** A package of Go is a folder; its name begins with the module's. */
function folders(name: string): Name[] {
  const parts = name.split('/')
  return parts.length < 2 ? [] : parts.slice(1).map((_, at) => ({ folder: parts.slice(at + 1).join('/') }))
}

function rustNames(path: string, used: string | undefined, mod: string | undefined): Name[] {
  const own = /(?:^|\/)(?:mod|lib|main)\.rs$/.test(path) ? folderOf(path) : path.replace(/\.rs$/, '')
  const files = (base: string) => [`${base}.rs`, `${base}/mod.rs`]
  if (mod !== undefined) return files(join(own, mod)).map((path) => ({ path }))
  const [root, ...parts] = (used ?? '').split('::').filter(Boolean)
  // The last names can be of items in the file.
  return parts.flatMap((_, at): Name[] => {
    const base = parts.slice(0, parts.length - at).join('/')
    if (root === 'crate') return files(`src/${base}`).map((end) => ({ end }))
    return files(join(root === 'super' ? folderOf(own) : own, base)).map((path) => ({ path }))
  })
}

function javaNames(name: string): Name[] {
  const parts = name.split('.')
  // The last name can be of a member.
  return [parts, parts.slice(0, -1)]
    .filter(({ length }) => length > 1)
    .flatMap((each) => ['.java', '.kt'].map((end) => ({ end: each.join('/') + end })))
}

const folderOf = (path: string) => (path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '')

function join(folder: string, name: string): string {
  const parts: string[] = []
  for (const part of `${folder}/${name}`.split('/'))
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  return parts.join('/')
}

/** The files of a change, found by their whole path, by its end, or by their folder. */
export class KnownFiles {
  readonly #paths: ReadonlySet<string>
  readonly #byName = new Map<string, string[]>()
  readonly #byFolder = new Map<string, string[]>()

  constructor(paths: readonly string[]) {
    this.#paths = new Set(paths)
    for (const path of paths) {
      add(this.#byName, path.slice(path.lastIndexOf('/') + 1), path)
      add(this.#byFolder, folderOf(path), path)
    }
  }

  find(name: Name): string[] {
    if ('path' in name) return this.#paths.has(name.path) ? [name.path] : []
    if ('folder' in name)
      return [...this.#byFolder].flatMap(([folder, files]) =>
        folder === name.folder || folder.endsWith(`/${name.folder}`)
          ? files.filter((file) => file.endsWith('.go'))
          : [],
      )
    const { end } = name
    const same = this.#byName.get(end.slice(end.lastIndexOf('/') + 1)) ?? []
    return same.filter((path) => path === end || path.endsWith(`/${end}`)).slice(0, 1)
  }
}

function add(map: Map<string, string[]>, key: string, path: string): void {
  const known = map.get(key)
  if (known === undefined) map.set(key, [path])
  else known.push(path)
}
