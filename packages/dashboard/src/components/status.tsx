import { Badge, type Tone } from '../ui/badge.tsx'

const changeRequestTones: Record<string, Tone> = { open: 'good', merged: 'merged', closed: 'bad' }

export function ChangeRequestStatus({ status }: { status: string }) {
  return <Badge tone={changeRequestTones[status] ?? 'neutral'}>{status}</Badge>
}

const sessionTones: Record<string, Tone> = { running: 'good', provisioning: 'accent', failed: 'bad' }

export function SessionStatus({ status }: { status: string }) {
  return <Badge tone={sessionTones[status] ?? 'neutral'}>{status}</Badge>
}
