import { Menu } from '@base-ui/react/menu'
import { useQuery } from '@tanstack/react-query'
import { me } from '../../account/queries.ts'
import { Button, buttonClass } from '../../../ui/form.tsx'
import { Notice } from '../../../ui/layout.tsx'
import { MenuChoice, MenuPopup, MenuSeparator } from '../../../ui/menu.tsx'
import { type ChangeRequest, type Review, type Version, versions } from '../queries.ts'
import type { Viewed } from './last-viewed.ts'
import { shortCommit } from '../../../components/short-commit.ts'

/** The commits that the diff compares. Null is the base, and the current head. */
export interface Range {
  since: string | null
  to: string | null
}

const base = 'base'
const head = 'head'

/** Chooses any two pushes to compare, or what came since one's last review or visit. */
export function VersionsMenu({
  cr,
  range,
  reviews,
  lastViewed,
  onRange,
}: {
  cr: ChangeRequest
  range: Range
  reviews: readonly Review[]
  lastViewed: Viewed | null
  onRange: (range: Range) => void
}) {
  const { data = [] } = useQuery(versions(cr))
  const { data: user } = useQuery(me)
  const mine = reviews.findLast(({ created_by }) => created_by !== null && created_by === user?.user.user_id)
  const latest = data.at(-1)
  if (latest === undefined || (data.length < 2 && range.since === null && range.to === null)) return null
  const named = (sha: string) => {
    const version = data.findLast(({ head_sha }) => head_sha === sha)
    return version === undefined ? shortCommit(sha) : `v${version.number}`
  }
  const current = cr.head_commit_sha ?? latest.head_sha
  const since = range.since === null ? cr.base_ref : named(range.since)
  const starts = unique([
    [base, `${cr.base_ref} (all changes)`],
    ...(mine === undefined || mine.head_sha === current
      ? []
      : [[mine.head_sha, `${named(mine.head_sha)}, my last review`] as const]),
    ...(lastViewed === null || lastViewed.sha === current
      ? []
      : [[lastViewed.sha, `${named(lastViewed.sha)}, my last visit`] as const]),
    ...data.toReversed().map(option),
    ...(range.since === null ? [] : [[range.since, named(range.since)] as const]),
  ])
  const ends = unique([
    [head, `v${latest.number} (latest)`],
    ...data.slice(0, -1).toReversed().map(option),
    ...(range.to === null ? [] : [[range.to, named(range.to)] as const]),
  ])
  return (
    <Menu.Root>
      <Menu.Trigger className={buttonClass()}>
        {since} → {range.to === null ? `v${latest.number}` : named(range.to)} ▾
      </Menu.Trigger>
      <MenuPopup align="start">
        <p className="px-2 py-1 text-xs font-semibold text-dim">From</p>
        <MenuChoice
          label="From"
          options={starts}
          value={range.since ?? base}
          onChange={(value) => onRange({ ...range, since: value === base ? null : value })}
          closeOnClick
        />
        <MenuSeparator />
        <p className="px-2 py-1 text-xs font-semibold text-dim">To</p>
        <MenuChoice
          label="To"
          options={ends}
          value={range.to ?? head}
          onChange={(value) => onRange({ ...range, to: value === head ? null : value })}
          closeOnClick
        />
      </MenuPopup>
    </Menu.Root>
  )
}

/** The merge box beside the diff is about the newest version. */
export function OlderVersion({
  cr,
  range,
  onRange,
}: {
  cr: ChangeRequest
  range: Range
  onRange: (range: Range) => void
}) {
  const { data = [] } = useQuery(versions(cr))
  const latest = data.at(-1)
  if (range.to === null || latest === undefined || range.to === latest.head_sha) return null
  const shown = data.findLast(({ head_sha }) => head_sha === range.to)
  const which = shown === undefined ? `commit ${shortCommit(range.to)}` : `version ${shown.number} of ${latest.number}`
  return (
    <Notice
      tone="warn"
      title={`You are looking at ${which}`}
      action={<Button onClick={() => onRange({ ...range, to: null })}>Show version {latest.number}</Button>}
    />
  )
}

const option = ({ number, head_sha }: Version) => [head_sha, `v${number}, ${shortCommit(head_sha)}`] as const

/** The first of those with the same value. */
function unique(options: (readonly [string, string])[]) {
  return options.filter(([value], at) => options.findIndex(([other]) => other === value) === at)
}
