/** Whether the daemon behind a socket answers. */
export async function answersHealth(socket: string): Promise<boolean> {
  try {
    const reply = await fetch('http://daemon/svc/health', { unix: socket, signal: AbortSignal.timeout(1000) })
    await reply.arrayBuffer()
    return reply.ok
  } catch {
    // Not listening yet; the caller polls until its deadline.
    return false
  }
}
