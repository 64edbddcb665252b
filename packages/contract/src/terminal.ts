/** The shell of a session, over one WebSocket: bytes are what is typed and what is shown, texts are these messages. */

/** What the daemon answers on; the server passes the connection of the browser on to it. */
export const terminalPath = '/svc/terminal'
/** Before the project and the session are filled in. */
export const terminalRoute = '/v1/projects/:projectId/sessions/:sessionId/terminal'

export const terminalColumnsMax = 500
export const terminalRowsMax = 300

/** From the browser. */
export interface TerminalResize {
  type: 'resize'
  columns: number
  rows: number
}

/** From the daemon: the last thing it says. */
export interface TerminalEnd {
  type: 'end'
  reason: string
}
