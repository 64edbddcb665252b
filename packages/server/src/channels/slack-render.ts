/** A message in Slack's blocks. All text goes through the escape; links and mentions are made here and nowhere else. */
import type { KnownBlock } from '@slack/web-api'
import { type Button, cut, type Message, type Part, type Word } from './message.ts'
import { mergeAction } from './slack-requests.ts'
import { escapeSlack, markdownToSlack, visible } from './slack-words.ts'

/** Slack takes 50. */
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
      // Verbatim: Slack makes no mention and no link of what only looks like one.
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
  // Only foreign words get that long; without markup there is nothing to cut in two.
  return escapeSlack(cut(list.map((one) => (typeof one === 'string' ? one : '…')).join(''), sectionCharsMax / 5))
}

function word(one: Word): string {
  if (typeof one === 'string') return escapeSlack(one)
  if ('bold' in one) return `*${flat(one.bold).replaceAll('*', '∗')}*`
  if ('code' in one) return `\`${flat(one.code).replaceAll('`', '′')}\``
  if ('person' in one) return /^[A-Z0-9]{2,40}$/.test(one.person) ? `<@${one.person}>` : ''
  return `<${visible(one.link).replaceAll(/[|<>\s]/g, encodeURIComponent)}|${flat(one.text).replaceAll('|', '¦')}>`
}

/** Slack reads no markup in it. A branch name that turns the text around would change what a person confirms. */
function plainText(text: string, charsMax: number) {
  return { type: 'plain_text' as const, text: cut(visible(text).replaceAll(/\s+/g, ' '), charsMax).toWellFormed() }
}

const flat = (text: string) => escapeSlack(text.replaceAll(/\s+/g, ' '))

function button(one: Button, index: number) {
  const text = plainText(one.label, 75)
  if (one.kind === 'link') return { type: 'button' as const, action_id: `svc_open_${index}`, text, url: one.url }
  return {
    type: 'button' as const,
    action_id: mergeAction,
    style: 'primary' as const,
    text,
    value: one.value,
    confirm: {
      title: plainText(one.confirm.title, 100),
      text: plainText(one.confirm.text, 300),
      confirm: plainText(one.confirm.yes, 30),
      deny: plainText('Not now', 30),
    },
  }
}
