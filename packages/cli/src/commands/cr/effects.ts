import type { MergePreview } from '@svc/sdk'
import type { Context } from '../../context.ts'
import { bold, dim, green, red, yellow } from '../../terminal/output.ts'

type Effects = NonNullable<MergePreview['effects']>
type Detail = Effects['details'][number]

const effectsShown = 20
const valueCharsMax = 100

/** Prints the changes that a merge makes beyond code, if there are any: as sentences, then each entry before and after. */
export function printEffects({ out }: Pick<Context, 'out'>, { effects }: MergePreview): void {
  if (effects === undefined || !effects.applies || effects.words.length === 0) return
  const { line } = out
  line()
  line(bold('Merging also'))
  for (const words of effects.words.slice(0, effectsShown)) line(`  ${words}`)
  more(out, effects.words.length)
  const shown = effects.details.filter(
    ({ fields, next_fire_at, confirm }) => fields.length + next_fire_at.length + confirm.length > 0,
  )
  if (shown.length === 0) return
  line()
  line(bold('What changes'))
  for (const detail of shown.slice(0, effectsShown)) printDetail(out, detail)
  more(out, shown.length)
}

function more({ line }: Context['out'], count: number): void {
  if (count > effectsShown) line(`  and ${count - effectsShown} more: --json lists them`)
}

function printDetail(
  { line, time }: Context['out'],
  { kind, name, change, fields, next_fire_at, confirm }: Detail,
): void {
  line(`  ${kind} `, bold(name), dim(` ${change}`))
  for (const { field, before, after } of fields) {
    const was = before === null ? [] : [red(short(before))]
    const is = after === null ? [] : [green(short(after))]
    // An entry that is added has only new values, and one that is removed only old ones.
    const note = change === 'changed' ? (before === null ? dim(' (new)') : after === null ? dim(' (removed)') : '') : ''
    line('    ', dim(field), ' ', ...was, was.length + is.length === 2 ? ' → ' : '', ...is, note)
  }
  if (next_fire_at.length > 0) line('    ', dim('next '), next_fire_at.map((at) => time(at)).join(', '))
  for (const words of confirm) line('    ', yellow(`needs confirmation: ${words}`))
}

/** One line: a prompt can have many. */
function short(text: string): string {
  const [first = '', ...rest] = text.split(/\r?\n/)
  const isCut = rest.some((line) => line.trim() !== '') || first.length > valueCharsMax
  return isCut ? `${first.slice(0, valueCharsMax - 1).toWellFormed()}…` : first
}
