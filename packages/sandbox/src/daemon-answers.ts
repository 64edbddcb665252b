/** Whether the daemon behind a socket is there. */
export async function answersHealth(socket: string): Promise<boolean> {
  try {
    const reply = await fetch('http://daemon/svc/health', { unix: socket, signal: AbortSignal.timeout(1000) })
    await reply.arrayBuffer()
    return reply.ok
  } catch {
    // Not there yet; whoever asks has a deadline.
    return false
  }
}
