// Lays the pages out as the site has them: Markdown of docs/ and of the root, and the API reference. Links between the
// files are written for GitHub, so each is resolved in the repository and pointed at the page the site has for it.
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { root } from '../console.mjs'
import { apiPages } from './api-pages.mjs'

const rootPages = {
  'README.md': 'readme.md',
  'ARCHITECTURE.md': 'architecture/index.md',
  'CONTRIBUTING.md': 'engineering/contributing.md',
  'SECURITY.md': 'operate/security.md',
  'CHANGELOG.md': 'changelog.md',
}

const sections = [
  { folder: 'guide', text: 'Guide' },
  { folder: 'api', text: 'API' },
  { folder: 'operate', text: 'Operate' },
  { folder: 'architecture', text: 'Architecture' },
  { folder: 'engineering', text: 'Engineering' },
  { folder: 'decisions', text: 'Decisions' },
]

/** Repository path of each Markdown file → path of its page. */
function sitePages() {
  const pages = new Map()
  for (const path of readdirSync(join(root, 'docs'), { recursive: true }).sort()) {
    // Only the sections are pages: docs/ also holds lists that are made for review.
    const isPage = path === 'README.md' || sections.some(({ folder }) => path.startsWith(`${folder}/`))
    if (!path.endsWith('.md') || !isPage) continue
    pages.set(`docs/${path}`, path.replace(/(^|\/)README\.md$/, '$1index.md'))
  }
  for (const [file, page] of Object.entries(rootPages)) pages.set(file, page)
  return pages
}

export function stage(folder, { base, openApi }) {
  cpSync(join(root, 'docs/.vitepress'), join(folder, '.vitepress'), { recursive: true })
  cpSync(join(root, 'docs/assets'), join(folder, 'assets'), { recursive: true })
  // VitePress copies what is in `public` as it is.
  cpSync(join(root, 'packages/dashboard/src/icon.svg'), join(folder, 'public/icon.svg'))
  cpDrawings(folder)
  const pages = sitePages()
  const texts = new Map()
  for (const [file, page] of pages) texts.set(page, siteLinks(file, page, pages))
  const api = apiPages(openApi)
  texts.set('api/index.md', `${texts.get('api/index.md')}\n${api.routes}`)
  for (const { page, text } of api.pages) texts.set(page, text)
  for (const [page, text] of texts) {
    mkdirSync(dirname(join(folder, page)), { recursive: true })
    writeFileSync(join(folder, page), text)
  }
  writeFileSync(join(folder, '.vitepress/staged.json'), JSON.stringify({ base, ...menus(texts) }))
}

/** Drawings stand beside the page that shows them. */
function cpDrawings(folder) {
  for (const path of readdirSync(join(root, 'docs'), { recursive: true })) {
    if (path.endsWith('.svg')) cpSync(join(root, 'docs', path), join(folder, path), { recursive: true })
  }
}

function siteLinks(file, page, pages) {
  const text = readFileSync(join(root, file), 'utf8')
  let isCode = false
  return text
    .split('\n')
    .map((line) => {
      if (/^\s*```/.test(line)) isCode = !isCode
      if (isCode) return line
      return line.replaceAll(/\[([^\]]*)\]\(([^)\s]+)\)/g, (_whole, label, target) => {
        const link = siteLink(file, page, target, pages)
        return link === null ? label : `[${label}](${link})`
      })
    })
    .join('\n')
}

/** Null for a file of the repository that the site does not have, such as a source. */
function siteLink(file, page, target, pages) {
  if (/^(?:[a-z]+:|#)/.test(target)) return target
  const [path, anchor] = target.split('#')
  const found = posix.normalize(posix.join(posix.dirname(file), path)).replace(/\/$/, '')
  const there = statSync(join(root, found), { throwIfNoEntry: false })
  if (there === undefined) throw new Error(`${file} links to ${target}, which does not exist.`)
  const sitePath = there.isDirectory() ? pages.get(`${found}/README.md`) : (pages.get(found) ?? asset(found))
  if (sitePath === undefined) return null
  const relative = posix.relative(posix.dirname(page), sitePath)
  return `${relative.startsWith('.') ? '' : './'}${relative}${anchor === undefined ? '' : `#${anchor}`}`
}

function asset(path) {
  return /^docs\/.*\.(?:svg|png)$/.test(path) ? path.slice('docs/'.length) : undefined
}

/** The sidebar of a section opens with its own pages; the other sections follow, collapsed. */
function menus(texts) {
  const groups = sections.map(({ folder, text }) => ({ folder, text, items: pagesOf(folder, texts) }))
  const sidebarOf = (open) => [
    ...[...groups]
      .sort((a, b) => Number(b.folder === open) - Number(a.folder === open))
      .map(({ folder, text, items }) => ({ text, items, collapsed: folder !== open })),
    { text: 'Changelog', link: '/changelog.html' },
  ]
  return {
    nav: sections.slice(0, 4).map(({ folder, text }) => ({ text, link: `/${folder}/`, activeMatch: `/${folder}/` })),
    sidebar: Object.fromEntries([
      ...sections.map(({ folder }) => [`/${folder}/`, sidebarOf(folder)]),
      ['/', sidebarOf('guide')],
    ]),
  }
}

/** In the order in which the section's first page links them; the others follow by name. */
function pagesOf(folder, texts) {
  const first = texts.get(`${folder}/index.md`)
  const rank = (page) => {
    if (page === `${folder}/index.md`) return -1
    const at = first.indexOf(`(./${posix.basename(page)}`)
    return at === -1 ? first.length : at
  }
  return [...texts.keys()]
    .filter((page) => posix.dirname(page) === folder)
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
    .map((page) => ({
      text: page.endsWith('/index.md') ? 'Overview' : title(texts.get(page)),
      link: `/${page.replace(/index\.md$/, '').replace(/\.md$/, '.html')}`,
    }))
}

function title(text) {
  return /^# (.+)$/m.exec(text)[1].replaceAll('`', '')
}
