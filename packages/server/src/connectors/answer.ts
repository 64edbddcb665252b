/** What a tool answers, as MCP has it, and how much of it an agent gets. */

export interface Answer {
  content: Record<string, unknown>[]
  structuredContent?: Record<string, unknown>
  isError: boolean
}

/** More than that fills a model's window, not its knowledge. */
const charsMax = 256 * 1024
const blocksMax = 200

export function said(text: string, isError = false): Answer {
  return { content: [{ type: 'text', text }], isError }
}

/** Cut where it is too long, and said so. */
export function cutAnswer(answer: Answer): Answer {
  let left = charsMax
  let isCut = answer.content.length > blocksMax
  const content = answer.content.slice(0, blocksMax).flatMap((block) => {
    const size = JSON.stringify(block).length
    if (size <= left) {
      left -= size
      return [block]
    }
    isCut = true
    const room = left
    left = 0
    return block.type === 'text' && room > 0 ? [{ type: 'text', text: String(block.text).slice(0, room) }] : []
  })
  const structured = answer.structuredContent
  const isLong = structured !== undefined && JSON.stringify(structured).length > charsMax
  const notice = { type: 'text', text: `[the answer is cut here: agents get ${charsMax / 1024} KiB of one]` }
  return {
    content: isCut || isLong ? [...content, notice] : content,
    ...(structured === undefined || isLong ? {} : { structuredContent: structured }),
    isError: answer.isError,
  }
}
