import { Empty } from '../ui/layout.tsx'

/** A managed repository before its first push, which creates the default branch. */
export function EmptyRepository({ slug }: { slug: string }) {
  return (
    <Empty command={`svc projects link ${slug}\nsvc ship`}>
      This repository is empty, and a session needs a branch to start from. Commit your work, then run this in its
      folder:
    </Empty>
  )
}
