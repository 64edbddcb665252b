/** Renders a message as Slack blocks. Every text is escaped; links and mentions are made only here. */
import type { KnownBlock } from '@slack/web-api'
import { type Button, type Confirm, cut, type Message, type Part, type Word } from '../outbox/message.ts'
import { answerAction, mergeAction } from './requests.ts'
import { escapeSlack, markdownToSlack, visible } from './markup.ts'

/** Slack allows 50. */
const blocksMax = 45
const sectionCharsMax = 2_900

export function renderForSlack(message: Message): { text: string; blocks: KnownBlock[] } {
  const blocks = message.parts.flatMap(blocksOf)
  return { text: escapeSlack(message.summary), blocks: blocks.slice(0, blocksMax) }
}

function blocksOf(part: Part): KnownBlock[] {
  switch (part.kind) {
    case 'markdown':
      return markdownToSlack(part.text).map(section)
    case 'line':
      return [section(words(part.words))]
    case 'note':
      // Verbatim: otherwise Slack turns text that resembles a mention or link into one.
      return [{ type: 'context', elements: [{ type: 'mrkdwn', text: words(part.words), verbatim: true }] }]
    case 'buttons':
      return [{ type: 'actions', elements: part.buttons.map(button) }]
    default:
      return part satisfies never
  }
}

function section(text: string): KnownBlock {
  return { type: 'section', text: { type: 'mrkdwn', text, verbatim: true } }
}

function words(list: Word[]): string {
  const all = list.map(word)
  const text = all.join('')
  if (text.length <= sectionCharsMax) return text
  // Only foreign text gets this long. Drop the markup, so that the cut splits none.
  return escapeSlack(cut(list.map((one) => (typeof one === 'string' ? one : '…')).join(''), sectionCharsMax / 5))
}

function word(one: Word): string {
  if (typeof one === 'string') return escapeSlack(one)
  if ('bold' in one) return `*${flat(one.bold).replaceAll('*', '∗')}*`
  if ('code' in one) return `\`${flat(one.code).replaceAll('`', '′')}\``
  if ('person' in one) return /^[A-Z0-9]{2,40}$/.test(one.person) ? `<@${one.person}>` : ''
  return `<${visible(one.link).replaceAll(/[|<>\s]/g, encodeURIComponent)}|${flat(one.text).replaceAll('|', '¦')}>`
}

/** Slack parses no markup here. Control characters go: a bidirectional override in a branch name would change what a user confirms. */
function plainText(text: string, charsMax: number) {
  return { type: 'plain_text' as const, text: cut(visible(text).replaceAll(/\s+/g, ' '), charsMax).toWellFormed() }
}

const flat = (text: string) => escapeSlack(text.replaceAll(/\s+/g, ' '))

function button(one: Button, index: number) {
  const text = plainText(one.label, 75)
  if (one.kind === 'link') return { type: 'button' as const, action_id: `svc_open_${index}`, text, url: one.url }
  const isMerge = one.kind === 'merge'
  return {
    type: 'button' as const,
    action_id: isMerge ? mergeAction : `${answerAction}${index}`,
    ...(isMerge ? { style: 'primary' as const } : {}),
    text,
    value: one.value,
    ...(one.confirm === null ? {} : { confirm: confirm(one.confirm) }),
  }
}

function confirm({ title, text, yes }: Confirm) {
  return {
    title: plainText(title, 100),
    text: plainText(text, 300),
    confirm: plainText(yes, 30),
    deny: plainText('Cancel', 30),
  }
}
