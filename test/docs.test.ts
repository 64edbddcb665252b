/** The documents: what they name exists, and each link leads somewhere, in the repository and on the site. */
import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'

const root = join(import.meta.dir, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.md'))
  .map((path) => `docs/${path}`)
const pages = [...readdirSync(root).filter((name) => name.endsWith('.md')), ...docs].sort()
const withoutCode = (text: string) =>
  text.replaceAll(/^```[^]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, (code) => code.replaceAll(/[[\]()]/g, ''))

/** The anchors GitHub gives to the headings of a page. */
function anchorsOf(path: string): Set<string> {
  const seen = new Map<string, number>()
  const anchors = new Set<string>()
  for (const [, heading] of read(path)
    .replaceAll(/^```[^]*?^```/gm, '')
    .matchAll(/^#{1,6} (.+)$/gm)) {
    const text = heading!.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    const slug = text
      .trim()
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-')
    const count = seen.get(slug) ?? 0
    seen.set(slug, count + 1)
    anchors.add(count === 0 ? slug : `${slug}-${count}`)
  }
  return anchors
}

describe('the Markdown files', () => {
  test.each(pages)('%s has no dead link', (path) => {
    const dead: string[] = []
    for (const [, target] of withoutCode(read(path)).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target!)) continue
      const [file, anchor] = target!.split('#')
      const found = file === '' ? path : posix.normalize(posix.join(dirname(path), file!))
      const isThere = existsSync(join(root, found))
      if (!isThere || (anchor !== undefined && !anchorsOf(found).has(anchor))) dead.push(target!)
    }
    expect(dead).toEqual([])
  })
})

describe('the built site', () => {
  const site = join(root, 'dist/docs')
  const files = existsSync(site) ? readdirSync(site, { recursive: true, encoding: 'utf8' }) : []
  const html = files.filter((path) => path.endsWith('.html'))
  const ids = new Map<string, Set<string>>()
  const idsOf = (path: string) => {
    const found =
      ids.get(path) ??
      new Set([...readFileSync(join(site, path), 'utf8').matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id!))
    ids.set(path, found)
    return found
  }

  test('the site has a page for each Markdown file', () => expect(html.length).toBeGreaterThan(pages.length))

  test('the site has no dead link', () => {
    const dead: string[] = []
    for (const path of html) {
      for (const [, target] of readFileSync(join(site, path), 'utf8').matchAll(/\s(?:href|src)="([^"]*)"/g)) {
        if (/^(?:[a-z]+:|\/\/)/.test(target!)) continue
        const url = new URL(target!, `http://site/docs/${path}`)
        const plain = decodeURIComponent(url.pathname.slice('/docs/'.length))
        const found = plain === '' || plain.endsWith('/') ? `${plain}index.html` : plain
        const isThere = url.pathname.startsWith('/docs/') && existsSync(join(site, found))
        const anchor = decodeURIComponent(url.hash.slice(1))
        const isAnchorThere = !isThere || anchor === '' || !found.endsWith('.html') || idsOf(found).has(anchor)
        if (!isThere || !isAnchorThere) dead.push(`${path}: ${target}`)
      }
    }
    expect(dead).toEqual([])
  })

  test('the site loads nothing from another host', () => {
    const foreign = html.filter((path) =>
      /<(?:script|link|img|iframe)[^>]+(?:src|href)="(?:https?:)?\/\//.test(readFileSync(join(site, path), 'utf8')),
    )
    expect(foreign).toEqual([])
  })
})

describe('ARCHITECTURE.md and docs/architecture', () => {
  const architecture = pages.filter((path) => path === 'ARCHITECTURE.md' || path.startsWith('docs/architecture/'))

  test.each(architecture)('%s names only files and folders that exist', (path) => {
    const named = [
      ...read(path).matchAll(
        /`((?:packages|scripts|test|bench|docs)\/[\w./-]+|[\w-]+(?:\/[\w.-]+)*\.(?:ts|tsx|mjs))`/g,
      ),
    ]
    expect(
      named.map(([, file]) => file!).filter((file) => !statSync(join(root, file), { throwIfNoEntry: false })),
    ).toEqual([])
  })

  test('ARCHITECTURE.md lists every page of docs/architecture and every package', () => {
    const text = read('ARCHITECTURE.md')
    for (const path of architecture.slice(1)) expect(text).toContain(`](${path})`)
    for (const name of readdirSync(join(root, 'packages'))) expect(text).toContain(`\`packages/${name}\``)
  })
})

describe('the recipe "Add a field" of CONTRIBUTING.md', () => {
  const text = read('CONTRIBUTING.md')
  const recipe = text.slice(text.indexOf('## Add a field'), text.indexOf('## Errors'))
  const files = [...recipe.matchAll(/^\| \d\. [^|]+\| `([^`]+)` \|/gm)].map(([, file]) => file!)
  const field = /path of `(\w+)`/.exec(recipe)![1]!

  test('has a step for the contract, the database, the client and the page', () => {
    for (const place of [
      'contract/src/routes',
      'db/migrations',
      'db/tables',
      'store',
      'api.gen',
      'cli/src',
      'dashboard/src',
    ])
      expect(files.filter((file) => file.includes(place))).toHaveLength(1)
  })

  test.each(files)('the step of the recipe exists in %s', (file) => expect(read(file)).toContain(field))

  test('each command of CONTRIBUTING.md is a script of package.json or a file', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    for (const [, name] of text.matchAll(/npm (?:run )?([a-z:-]+)/g))
      if (!['packages', 'package'].includes(name!)) expect(Object.keys(scripts)).toContain(name!)
    for (const [, file] of text.matchAll(/node scripts\/bun\.mjs (test\/[\w./-]+)/g))
      expect(existsSync(join(root, file!))).toBe(true)
  })
})

test('every test that SECURITY.md names exists', () => {
  const tests = new Set(
    ['packages', 'test']
      .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }))
      .filter((path) => path.endsWith('.test.ts') && !path.includes('node_modules'))
      .map((path) => posix.basename(path)),
  )
  const named = [...read('SECURITY.md').matchAll(/`(?:[\w./-]+\/)?([\w-]+\.test\.ts)`/g)].map(([, name]) => name!)
  expect(named.length).toBeGreaterThan(30)
  expect(named.filter((name) => !tests.has(name))).toEqual([])
})

test('CHANGELOG.md has an Unreleased section, then versions with dates, newest first', () => {
  const titles = [...read('CHANGELOG.md').matchAll(/^## (.+)$/gm)].map(([, title]) => title!)
  expect(titles[0]).toBe('Unreleased')
  const versions = titles.slice(1).map((title) => /^(\d+)\.(\d+)\.(\d+) \((\d{4}-\d{2}-\d{2})\)$/.exec(title))
  expect(versions.filter((found) => found === null)).toEqual([])
  const order = versions.map((found) => found!.slice(1, 4).map(Number)).map(([a, b, c]) => a! * 1e6 + b! * 1e3 + c!)
  expect(order).toEqual(order.toSorted((a, b) => b - a))
  const dates = versions.map((found) => found![4]!)
  expect(dates).toEqual(dates.toSorted().toReversed())
})
