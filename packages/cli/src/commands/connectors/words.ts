import type { Connector, ConnectorPolicy } from '@svc/contract/connectors'
import { dim, green, type Piece, red, yellow } from '../../output.ts'

export const slugArg = { summary: 'Slug of the connector in svc.toml' } as const

export function stateOf({ status }: Pick<Connector, 'status'>): Piece {
  const colour = { ready: green, failed: red, unchecked: yellow, off: dim }
  return colour[status](status)
}

export function policyWord(policy: ConnectorPolicy): Piece {
  return { allow: green, ask: yellow, block: red }[policy](policy)
}

/** What is said of all its tools. */
export function policyOfAll({ policy }: Pick<Connector, 'policy'>): Piece {
  return policy === null ? dim('reading allowed, the rest asks') : policyWord(policy)
}

/** What the agent wants to send, on one line. */
export function argumentsLine({ arguments: args }: { arguments: object }): string {
  return JSON.stringify(args)
}
