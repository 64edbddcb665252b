/** The names of project events, apart from their schemas: clients list them, and load no schema for it. */
export const changeRequestEventTypes = [
  'change_request.opened',
  'change_request.updated',
  'change_request.conflicted',
  'change_request.clean',
  'change_request.reviewed',
  'change_request.merged',
  'change_request.closed',
  'change_request.reopened',
] as const

export const sessionEventTypes = [
  'session.provisioning',
  'session.running',
  'session.turn_ended',
  'session.stopped',
  'session.failed',
  'session.deleted',
  'session.question_asked',
  'session.question_answered',
] as const

export const triggerEventTypes = ['trigger.fired', 'trigger.missed'] as const

export const deployEventTypes = ['deploy.started', 'deploy.live', 'deploy.failed', 'deploy.stopped'] as const

/** Of a check of a change request; once for each open one whose merge gives the files it ran on. */
export const checkEventTypes = ['check.started', 'check.finished'] as const

export const projectEventTypes = [
  ...changeRequestEventTypes,
  ...sessionEventTypes,
  ...triggerEventTypes,
  ...deployEventTypes,
  ...checkEventTypes,
  'default_branch.moved',
] as const
export type ProjectEventType = (typeof projectEventTypes)[number]
