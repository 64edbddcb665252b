import type { Connector, ConnectorApproval, ConnectorCall } from '@svc/contract/routes/connectors'

export const aConnector = (changes: Partial<Connector> = {}): Connector => ({
  ...{ slug: 'tracker', type: 'mcp', url: 'https://mcp.example.com/mcp', status: 'ready', error: null, hint: null },
  auth: { type: 'bearer', secret_env: 'TRACKER_TOKEN', header: null },
  checked_at: '2026-11-21T11:00:00.000Z',
  policy: null,
  tools: [
    {
      name: 'search',
      offered_as: 'tracker_search',
      description: 'Search',
      read_only: true,
      policy: 'allow',
      decided: null,
    },
    {
      name: 'create',
      offered_as: 'tracker_create',
      description: 'Create',
      read_only: false,
      policy: 'ask',
      decided: null,
    },
  ],
  ...changes,
})

const aCall: ConnectorCall = {
  ...{ at: '2026-11-21T11:00:00.000Z', session_id: '44444444-4444-4444-8444-444444444444', tool: 'search' },
  ...{ outcome: 'ok', ms: 120, arguments: ['query'] },
}

export const anApproval = (changes: Partial<ConnectorApproval> = {}): ConnectorApproval => ({
  approval_id: '88888888-8888-4888-8888-888888888888',
  session_id: '44444444-4444-4444-8444-444444444444',
  ...{ slug: 'tracker', tool: 'create', arguments: { title: 'A bug' }, status: 'pending' },
  ...{ decided_by: null, decided_at: null },
  ...{ created_at: '2026-11-21T11:00:00.000Z', expires_at: '2026-11-21T11:15:00.000Z' },
  ...changes,
})

export const usualConnectors = {
  listConnectors: () => ({
    connectors: [aConnector()],
    errors: [],
    provider: 'mcp' as const,
    gateway_url: 'https://svc.example.com/v1/mcp',
    approvals_pending: 1,
  }),
  getConnector: () => ({ ...aConnector(), calls: [aCall] }),
  checkConnector: () => aConnector(),
  setConnectorPolicy: () => aConnector(),
  listConnectorApprovals: () => ({ approvals: [anApproval()] }),
  decideConnectorApproval: () => anApproval({ status: 'approved' }),
}
