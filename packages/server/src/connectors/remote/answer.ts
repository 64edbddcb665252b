/** An MCP tool result, and the limit on how much of it an agent receives. */

export interface Answer {
  content: Record<string, unknown>[]
  structuredContent?: Record<string, unknown>
  isError: boolean
}

/** More than this only fills a model's context window. */
const charsMax = 256 * 1024
const blocksMax = 200

export function textAnswer(text: string, isError = false): Answer {
  return { content: [{ type: 'text', text }], isError }
}

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
  const notice = { type: 'text', text: `[truncated: agents receive at most ${charsMax / 1024} KiB of a result]` }
  return {
    content: isCut || isLong ? [...content, notice] : content,
    ...(structured === undefined || isLong ? {} : { structuredContent: structured }),
    isError: answer.isError,
  }
}
