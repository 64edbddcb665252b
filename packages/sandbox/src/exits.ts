import type { SandboxExit } from './driver.ts'

/** Subscriptions to sandboxes that end by themselves. */
export function createExits(log: (message: string, facts?: Record<string, unknown>) => void = () => {}) {
  const listeners = new Set<(exit: SandboxExit) => void>()
  const emit = (exit: SandboxExit) => listeners.forEach((listener) => listener(exit))
  return {
    onExit(listener: (exit: SandboxExit) => void): () => void {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    emit,
    /** Reports the exit even when the cleanup fails: subscribers must learn that the sandbox is gone. */
    async report(exit: SandboxExit, clean: () => Promise<void>): Promise<void> {
      const { sandboxId: sandbox_id, reason } = exit
      await clean().catch((error: unknown) =>
        log('a sandbox that ended could not be cleaned up', { sandbox_id, error: String(error) }),
      )
      log('sandbox ended', { sandbox_id, reason })
      emit(exit)
    },
  }
}
