import type { Connector, ConnectorPolicy } from '@svc/contract/routes/connectors'
import { dim, green, type Piece, red, yellow } from '../../terminal/output.ts'

export const slugArg = { summary: 'Slug of the connector in svc.toml' } as const

export function stateOf({ status }: Pick<Connector, 'status'>): Piece {
  const colour = { ready: green, failed: red, unchecked: yellow, off: dim }
  return colour[status](status)
}

export function policyLabel(policy: ConnectorPolicy): Piece {
  return { allow: green, ask: yellow, block: red }[policy](policy)
}

export function policyOfAll({ policy }: Pick<Connector, 'policy'>): Piece {
  return policy === null ? dim('allow reads, ask for the rest') : policyLabel(policy)
}

/** The arguments the agent wants to send, on one line. */
export function argumentsLine({ arguments: args }: { arguments: object }): string {
  return JSON.stringify(args)
}
