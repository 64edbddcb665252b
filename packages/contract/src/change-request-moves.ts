/** What may become of a change request. Without a schema, so that the pages read it too. */
export const changeRequestStatuses = ['open', 'merged', 'closed'] as const
export type ChangeRequestStatus = (typeof changeRequestStatuses)[number]

/** The one table of allowed moves; Closing a closed one changes nothing. */
export const changeRequestMoves = {
  edit: { from: ['open', 'closed'], to: null },
  close: { from: ['open', 'closed'], to: 'closed' },
  reopen: { from: ['closed'], to: 'open' },
  merge: { from: ['open'], to: 'merged' },
} as const satisfies Record<string, { from: readonly ChangeRequestStatus[]; to: ChangeRequestStatus | null }>

export type ChangeRequestMove = keyof typeof changeRequestMoves

/** The author is still working on a draft: it can be read and checked, and is not merged. */
export function isDraft(cr: { metadata: Readonly<Record<string, unknown>> }): boolean {
  return cr.metadata.draft === true
}

/** Why a move is refused now, or null when it is allowed. */
export function refuseMove(move: ChangeRequestMove, status: ChangeRequestStatus): string | null {
  const from: readonly ChangeRequestStatus[] = changeRequestMoves[move].from
  if (from.includes(status)) return null
  const past = { edit: 'edited', close: 'closed', reopen: 'reopened', merge: 'merged' }[move]
  return `This change request is ${status}, so it cannot be ${past}.`
}
