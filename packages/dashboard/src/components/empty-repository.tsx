import { Empty } from '../ui/card.tsx'
import { useProject } from './project-shell.tsx'

/** Of a managed repository nobody pushed to; the first push makes the default branch. */
export function EmptyRepository() {
  const { slug } = useProject()
  return (
    <Empty command={`svc projects link ${slug}\nsvc ship`}>
      The repository is empty, and a session needs a branch to start from. In the folder of your work, once it has a
      commit:
    </Empty>
  )
}
