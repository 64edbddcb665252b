/**
 * Collects every string that a person can read (pages, client, errors, hints, emails, chat cards, logs at info and above) into
 * docs/strings.md, so that they can be read in one go: `npm run generate`. A test compares the page with the sources.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isTest } from '../architecture.ts'
import { childrenOf, handWritten, type Node, readSource, type Source } from '../sources.ts'

export interface VisibleString {
  line: number
  text: string
}

export const stringsPage = join(import.meta.dir, '../../docs/strings.md')

/** Properties and attributes whose value a person reads even when it is one word. */
const labels = new Set([
  'label',
  'title',
  'summary',
  'description',
  'message',
  'hint',
  'heading',
  'placeholder',
  'alt',
  'aria-label',
])
/** Attributes that only a browser reads. */
const markup = new Set([
  'className',
  'class',
  'to',
  'href',
  'd',
  'viewBox',
  'sandbox',
  'allow',
  'rel',
  'transform',
  'style',
])

/** A label may be chosen or composed where it is given. */
const passesOn = /^(JSXExpressionContainer|ConditionalExpression|LogicalExpression|ParenthesizedExpression)$/

/** In the order of the source. A placeholder of a template reads `{…}`. */
export function stringsOf(source: Source): VisibleString[] {
  const found: VisibleString[] = []
  const add = (at: number, text: string) => {
    const words = text.replace(/\s+/g, ' ').trim()
    if (/[A-Za-z]{2}/.test(words)) found.push({ line: source.lineAt(at), text: words })
  }
  const visit = (node: Node, isLabel: boolean) => {
    if (isNeverRead(node)) return
    const text = textOf(node)
    if (text !== null) {
      if (node.type === 'JSXText' || isLabel || isProse(text)) add(node.start, text)
      for (const inner of (node.expressions as Node[] | undefined) ?? []) visit(inner, false)
      return
    }
    const labelled = (node.type === 'Property' || node.type === 'JSXAttribute') && labels.has(keyOf(node))
    for (const child of childrenOf(node)) visit(child, labelled || (isLabel && passesOn.test(node.type)))
  }
  visit(source.program as unknown as Node, false)
  return found
}

function isNeverRead(node: Node): boolean {
  if (/^TS(Literal|Type|Interface|Import|Union|Template)/.test(node.type)) return true
  if (node.type === 'JSXAttribute') return markup.has(keyOf(node))
  if (node.type === 'TaggedTemplateExpression') return nameOf(node.tag as Node).startsWith('sql')
  if (node.type === 'CallExpression')
    return /\b(debug|trace|invariant|querySelector\w*|sql|raw)$/.test(nameOf(node.callee as Node))
  return node.type === 'ImportDeclaration' || (node.type.startsWith('Export') && node.declaration === null)
}

function textOf(node: Node): string | null {
  if (node.type === 'JSXText') return String(node.value)
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : null
  if (node.type !== 'TemplateLiteral') return null
  const parts = (node.quasis as { value: { cooked: string | null; raw: string } }[]).map(
    ({ value }) => value.cooked ?? value.raw,
  )
  return parts.join('{…}')
}

/** A sentence or a phrase, and no list of classes, statement of SQL, header, path, command line or message to git. */
function isProse(text: string): boolean {
  if (text.includes('\0')) return false
  if (!/[A-Za-z]{2,}[,;:.…]? (\{…\}|[A-Za-z"'`(])/.test(text)) return false
  return (
    !/^\s*(select|insert|update|delete|create|alter|with|begin|set|listen|notify|lock)\b.*\b(from|into|set|table|as|index|local)\b/is.test(
      text,
    ) &&
    !/(^|\s)(flex|grid|px-|py-|text-(sm|xs|lg)|rounded|items-|gap-|border|bg-|w-full|h-full|self'|default-src)/.test(
      text,
    )
  )
}

function keyOf(node: Node): string {
  const key = (node.key ?? node.name) as Node | undefined
  if (key === undefined) return ''
  if (key.type === 'JSXNamespacedName') return ''
  return String(key.name ?? key.value ?? '')
}

function nameOf(node: Node): string {
  if (node.type === 'Identifier') return String(node.name)
  if (node.type === 'MemberExpression') return `${nameOf(node.object as Node)}.${nameOf(node.property as Node)}`
  return node.type === 'CallExpression' ? nameOf(node.callee as Node) : ''
}

/** The whole page, by package and file. A string that a file repeats is there once. */
export function stringsDocument(): string {
  const paths = handWritten('packages').filter((path) => /^packages\/[\w-]+\/src\//.test(path) && !isTest(path))
  const sections = new Map<string, string[]>()
  for (const path of paths) {
    const [, room = '', , file = ''] = /^packages\/([\w-]+)\/(src\/)(.+)$/.exec(path) ?? []
    const strings = [...new Set(stringsOf(readSource(path)).map(({ text }) => text))]
    if (strings.length === 0) continue
    const section = sections.get(room) ?? []
    section.push(`### ${file}\n\n${strings.map((text) => `- ${escapeMarkdown(text)}`).join('\n')}`)
    sections.set(room, section)
  }
  const bodies = [...sections].map(([room, files]) => `## ${room}\n\n${files.join('\n\n')}`)
  const head = `# Every string a person can read\n\nGenerated from the sources by \`npm run generate\`; \`{…}\` is a value.\n`
  return `${head}\n${bodies.join('\n\n')}\n`
}

function escapeMarkdown(text: string): string {
  return text.replace(/[<>*_`[\]\\|]/g, '\\$&')
}

if (import.meta.main) writeFileSync(stringsPage, stringsDocument())
