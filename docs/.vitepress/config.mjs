// The docs site. scripts/docs/build.mjs stages the pages in a folder beside this file and calls VitePress there.
import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'

/** Written by scripts/docs/stage.mjs: `{ base, nav, sidebar }`. */
const staged = JSON.parse(readFileSync(new URL('./staged.json', import.meta.url), 'utf8'))

export default defineConfig({
  title: 'svc docs',
  description: 'How to use, run and change svc.',
  lang: 'en-US',
  base: staged.base,
  // The site is also opened from plain file hosts, so links keep `.html`.
  cleanUrls: false,
  metaChunk: true,
  head: [['link', { rel: 'icon', href: `${staged.base}icon.svg`, type: 'image/svg+xml' }]],
  markdown: {
    // Pages hold text only. Raw HTML in them is shown as text.
    html: false,
    // The same anchors as GitHub makes, so one link works in both.
    anchor: { slugify: githubSlug },
    // One color scheme of plain code: highlighting costs two seconds of build and puts a style on every word.
    highlight: (code) => `<pre v-pre><code>${escapeHtml(code)}</code></pre>`,
    config: escapeTemplates,
  },
  themeConfig: {
    nav: staged.nav,
    sidebar: staged.sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
    docFooter: { prev: false, next: false },
  },
})

function githubSlug(text) {
  return text
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')
}

/** VitePress compiles pages as Vue templates, where two braces begin an expression. In these pages they are text. */
function escapeTemplates(md) {
  const render = md.renderer.render.bind(md.renderer)
  md.renderer.render = (...args) => render(...args).replaceAll('{{', '&#123;&#123;')
}

function escapeHtml(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
