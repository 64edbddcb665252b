import { describe, expect, test } from 'bun:test'
import {
  type ChangeRequestMove,
  changeRequestMoves,
  type ChangeRequestStatus,
  changeRequestStatuses,
  refuseMove,
} from '../routes/change-requests.ts'
import { sandboxStatuses, sessionMoves, sessionStatuses } from '../routes/sessions.ts'

/** The states table of spec.md with decisions.md's reading of a second close. */
const allowed: Record<ChangeRequestMove, ChangeRequestStatus[]> = {
  edit: ['open', 'closed'],
  close: ['open', 'closed'],
  reopen: ['closed'],
  merge: ['open'],
}

describe('moves of change requests', () => {
  const cases = (Object.keys(allowed) as ChangeRequestMove[]).flatMap((move) =>
    changeRequestStatuses.map((status) => [move, status] as const),
  )

  test('the table has exactly the known moves', () => {
    expect(Object.keys(changeRequestMoves).toSorted()).toEqual(Object.keys(allowed).toSorted())
  })

  test.each(cases)('the move %s is allowed only from its statuses: from %s', (move, status) => {
    const refusal = refuseMove(move, status)
    if (allowed[move].includes(status)) expect(refusal).toBeNull()
    else expect(refusal).toMatch(new RegExp(`is ${status}, so it cannot be (edit|clos|reopen|merg)ed\\.$`))
  })

  test('no move leaves the status merged', () => {
    for (const { from } of Object.values(changeRequestMoves)) expect(from as readonly string[]).not.toContain('merged')
  })
})

describe('moves of sessions', () => {
  test('sessions have the seven statuses of the specification, in its order', () => {
    expect(sessionStatuses.join(' ')).toBe('queued branching provisioning running stopped failed completed')
    expect(sandboxStatuses.join(' ')).toBe('provisioning active stopped error archived')
  })

  test('sessions move only between known statuses, and never into a status that is not written', () => {
    for (const { from, to } of Object.values(sessionMoves)) {
      for (const status of [...from, to]) expect(sessionStatuses).toContain(status)
      expect(['queued', 'branching', 'completed']).not.toContain(to)
    }
  })
})
