/** Reads and writes Slack's markup. https://docs.slack.dev/messaging/formatting-message-text */

/** Slack starts mentions, links and commands such as `<!channel>` with these three characters; no other needs escaping. */
export function escapeSlack(text: string): string {
  return visible(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** Replaces control and bidirectional-override characters. */
export function visible(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\u{fffd}')
}

/** The text as its author sees it: without mentions of the bot, with links and people by name. */
export function readSlackText(raw: string, botUserId: string): { text: string; mentionsBot: boolean } {
  let mentionsBot = false
  const text = raw
    .replaceAll(/<([^<>]*)>/g, (_, inside: string) => {
      const [target = '', label] = inside.split('|', 2)
      if (target.startsWith('@')) {
        if (target !== `@${botUserId}`) return `@${label ?? target.slice(1)}`
        mentionsBot = true
        return ''
      }
      if (target.startsWith('#')) return `#${label || target.slice(1)}`
      if (target.startsWith('!')) return label ?? `@${target.slice(1).split('^')[0]}`
      return label === undefined || label === '' || target.endsWith(label) ? target : `${label} (${target})`
    })
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
  return { text: text.trim(), mentionsBot }
}

const lineCharsMax = 500
/** Slack allows 3,000 in a section. */
const chunkCharsMax = 2_900

/** Converts an agent's markdown to Slack's markup, in chunks that Slack accepts. A split code block continues in the next chunk. */
export function markdownToSlack(text: string): string[] {
  const chunks: string[] = []
  let chunk = ''
  let isCode = false
  const end = () => {
    if (chunk.trim() !== '') chunks.push(isCode ? `${chunk}\n\`\`\`` : chunk)
    chunk = isCode ? '```' : ''
  }
  for (const line of text.replaceAll('\r\n', '\n').split('\n').flatMap(inPieces)) {
    const isFence = /^\s*(```|~~~)/.test(line)
    const shown = isFence ? '```' : isCode ? escapeSlack(line) : lineToSlack(line)
    if (chunk.length + shown.length + 5 > chunkCharsMax) end()
    chunk = chunk === '' ? shown : `${chunk}\n${shown}`
    if (isFence) isCode = !isCode
  }
  end()
  return chunks
}

function inPieces(line: string): string[] {
  if (line.length <= lineCharsMax) return [line]
  return Array.from({ length: Math.ceil(line.length / lineCharsMax) }, (_, i) =>
    line.slice(i * lineCharsMax, (i + 1) * lineCharsMax),
  )
}

/** Converts bold, headings, bullets and links, but no inline code. Links show their URL, so that the text cannot disguise the target. */
function lineToSlack(line: string): string {
  const heading = /^#{1,6}\s+(.*)$/.exec(line)?.[1]
  if (heading !== undefined) return `*${escapeSlack(heading).replaceAll('*', '')}*`
  return escapeSlack(line)
    .split(/(`[^`]*`)/)
    .map((piece) =>
      piece.startsWith('`')
        ? piece
        : piece
            .replace(/^(\s*)[*-] /, '$1• ')
            .replaceAll(/\*\*([^*]+)\*\*/g, '*$1*')
            .replaceAll(/!?\[([^\]]*)\]\(([^)\s]*)\)/g, '$1 ($2)'),
    )
    .join('')
}
