/** The text of a person's prompt in its parts: fenced code, and the rest as it was typed. */
import { fromMarkdown } from 'mdast-util-from-markdown'

export interface TypedPart {
  isCode: boolean
  text: string
}

/** All of Markdown but fences and the paragraphs between them. */
const ignored = [
  ...['blockQuote', 'codeIndented', 'definition', 'headingAtx', 'htmlFlow', 'list', 'setextUnderline', 'thematicBreak'],
  ...['attention', 'autolink', 'characterEscape', 'characterReference', 'codeText', 'hardBreakEscape', 'htmlText'],
  ...['labelEnd', 'labelStartImage', 'labelStartLink'],
]

export function typedParts(text: string): TypedPart[] {
  if (!/```|~~~/.test(text)) return text.trim() === '' ? [] : [{ isCode: false, text }]
  const parts: TypedPart[] = []
  let end = 0
  const typed = (between: string) => {
    // The block has a distance of its own, so the empty lines beside it go.
    const rest = between.replace(/^(?:[ \t]*\r?\n)+|\s+$/g, '')
    if (rest !== '') parts.push({ isCode: false, text: rest })
  }
  for (const node of fromMarkdown(text, { extensions: [{ disable: { null: ignored } }] }).children) {
    if (node.type !== 'code' || node.position === undefined) continue
    typed(text.slice(end, node.position.start.offset))
    parts.push({ isCode: true, text: node.value })
    end = node.position.end.offset ?? end
  }
  typed(text.slice(end))
  return parts
}
