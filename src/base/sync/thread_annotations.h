// What clang's thread-safety analysis is told: which lock guards a variable, which locks a function wants, takes and
// gives back. `scripts/check-locks` has clang compare it with the code; other compilers see nothing of it.
//
// What a function that returns a reference stands for is guarded by VG_REQUIRES of that function. A lambda that is
// called under a lock says VG_REQUIRES behind its parameters, as clang looks at it by itself. The analysis does not
// follow locks that are moved, returned or kept in containers: VG_UNCHECKED_LOCKS, with the reason on the same line.
#pragma once

#ifdef __clang__
#define VG_THREAD_ANNOTATION(...) __attribute__((__VA_ARGS__))
#else
#define VG_THREAD_ANNOTATION(...)
#endif

// Of a class that is a lock, and of one that holds a lock while it lives.
#define VG_LOCK_CLASS VG_THREAD_ANNOTATION(capability("mutex"))
#define VG_SCOPED_LOCK_CLASS VG_THREAD_ANNOTATION(scoped_lockable)

// Of a variable: read with the lock held at least shared, written with it held alone. The second one: what it points
// to.
#define VG_GUARDED_BY(lock) VG_THREAD_ANNOTATION(guarded_by(lock))
#define VG_POINTEE_GUARDED_BY(lock) VG_THREAD_ANNOTATION(pt_guarded_by(lock))

// Of a function: the caller holds these locks, or does not.
#define VG_REQUIRES(...) VG_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define VG_REQUIRES_SHARED(...) VG_THREAD_ANNOTATION(requires_shared_capability(__VA_ARGS__))
#define VG_EXCLUDES(...) VG_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

// Of a function: it takes these locks (its own object without an argument), or gives them back.
#define VG_ACQUIRES(...) VG_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define VG_ACQUIRES_SHARED(...) VG_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define VG_RELEASES(...) VG_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define VG_RELEASES_SHARED(...) VG_THREAD_ANNOTATION(release_shared_capability(__VA_ARGS__))
// The same where it returns true.
#define VG_TRIES(...) VG_THREAD_ANNOTATION(try_acquire_capability(true, ##__VA_ARGS__))

// Of a function that returns a reference to a lock: which one.
#define VG_RETURNS_LOCK(lock) VG_THREAD_ANNOTATION(lock_returned(lock))

// Of a function that the analysis cannot follow.
#define VG_UNCHECKED_LOCKS VG_THREAD_ANNOTATION(no_thread_safety_analysis)
