/** Status changes of a change request. Loads no zod: the pages use it too. */
export const changeRequestStatuses = ['open', 'merged', 'closed'] as const
export type ChangeRequestStatus = (typeof changeRequestStatuses)[number]

/** The allowed moves. Closing a closed one changes nothing. */
export const changeRequestMoves = {
  edit: { from: ['open', 'closed'], to: null },
  close: { from: ['open', 'closed'], to: 'closed' },
  reopen: { from: ['closed'], to: 'open' },
  merge: { from: ['open'], to: 'merged' },
} as const satisfies Record<string, { from: readonly ChangeRequestStatus[]; to: ChangeRequestStatus | null }>

export type ChangeRequestMove = keyof typeof changeRequestMoves

/** A draft can be read and checked, but not merged. */
export function isDraft(cr: { metadata: Readonly<Record<string, unknown>> }): boolean {
  return cr.metadata.draft === true
}

export function refuseMove(move: ChangeRequestMove, status: ChangeRequestStatus): string | null {
  const from: readonly ChangeRequestStatus[] = changeRequestMoves[move].from
  if (from.includes(status)) return null
  const past = { edit: 'edited', close: 'closed', reopen: 'reopened', merge: 'merged' }[move]
  return `This change request is ${status}, so it cannot be ${past}.`
}
