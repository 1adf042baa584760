program main
  use singles, only: sort_singles => sort, dot_singles => dot, smooth_singles => smooth, histogram_singles => histogram
  use doubles, only: sort_doubles => sort, solve_doubles => solve, interpolate_doubles => interpolate, stack_doubles => stack
  use quads, only: sort_quads => sort, solve_quads => solve
  use integers, only: sort_integers => sort, stack_integers => stack, histogram_integers => histogram
  use longs, only: sort_longs => sort, dot_longs => dot
  implicit none
  real(4) :: s(40)
  real(8) :: d(20), a(3, 3), b(3)
  real(16) :: q(10)
  integer(4) :: i(30), k
  integer(8) :: l(30)
  type(stack_integers) :: numbers
  type(stack_doubles) :: reals
  character(:), allocatable :: text
  s = [(sin(real(k)) * 100, k = 1, size(s))]
  d = s(:20)
  q = s(:10)
  i = int(s(:30))
  l = i
  call sort_singles(s)
  call sort_doubles(d)
  call sort_quads(q)
  call sort_integers(i)
  call sort_longs(l)
  a = reshape([2d0, 1d0, 0d0, 1d0, 3d0, 1d0, 0d0, 1d0, 4d0], [3, 3])
  b = [1d0, 2d0, 3d0]
  do k = 1, 9
    call numbers%push(k)
    call reals%push(d(k))
  end do
  call histogram_integers(i, text)
  print '(a)', text
  print *, solve_doubles(a, b), b, numbers%pop(), reals%pop(), dot_singles(s, s), dot_longs(l, l)
  print *, interpolate_doubles(d, d, d(:3)), sum_of_squares(10)
contains
  recursive integer function sum_of_squares(n) result(r)
    integer, intent(in) :: n
    r = 0
    if (n > 0) r = n * n + sum_of_squares(n - 1)
  end function
end program
